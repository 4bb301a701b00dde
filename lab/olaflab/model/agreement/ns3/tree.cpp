// A tree of engines in ns-3: UDP over IPv4 over point-to-point links, with the rules of rules.h as the queue
// of each engine's device towards the parameter server.
//
// Reads the arrays of simulate.h from a file: the sizes of the engines', settings' and sources' arrays, an
// OlafWorld, then the arrays. Writes a JSON object: seconds of processor time in the event loop, its events,
// and of each cluster what was generated and delivered, and its average age in ns (0 for none).

#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>

#include <ctime>
#include <deque>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <vector>

#include "age.h"
#include "random.h"
#include "simulate.h"
#include "update.h"

namespace {

using ns3::Packet;
using ns3::Ptr;

constexpr std::uint16_t kPort = 20300;
// UDP, IPv4 and PPP: what ns-3 puts in front of a payload.
constexpr std::uint32_t kHeaders = 8 + 20 + 2;

// What an engine reads of an update; it travels with the packet and takes no time on the wire.
class UpdateTag : public ns3::Tag {
  public:
    static ns3::TypeId GetTypeId() {
        static const ns3::TypeId id =
            ns3::TypeId("olaf::UpdateTag").SetParent<ns3::Tag>().AddConstructor<UpdateTag>();
        return id;
    }
    ns3::TypeId GetInstanceTypeId() const override { return GetTypeId(); }
    std::uint32_t GetSerializedSize() const override { return sizeof update; }
    void Serialize(ns3::TagBuffer buffer) const override {
        buffer.Write(reinterpret_cast<const std::uint8_t *>(&update), sizeof update);
    }
    void Deserialize(ns3::TagBuffer buffer) override {
        buffer.Read(reinterpret_cast<std::uint8_t *>(&update), sizeof update);
    }
    void Print(std::ostream &stream) const override { stream << update.index; }

    olaf::Update update{};
};

// The device takes a packet out of its queue to send it, so the one on the wire has no slot.
class OlafQueue : public ns3::Queue<Packet> {
  public:
    static ns3::TypeId GetTypeId() {
        static const ns3::TypeId id = ns3::TypeId("olaf::OlafQueue").SetParent<ns3::Queue<Packet>>();
        return id;
    }

    OlafQueue(std::size_t slots, std::size_t indices) : rules_(slots, indices, slots) {
        SetMaxSize(ns3::QueueSize(ns3::QueueSizeUnit::PACKETS, static_cast<std::uint32_t>(slots)));
    }
    void Set(std::uint32_t index, const olaf::Queue::Setting &setting) { rules_.Set(index, setting); }

    bool Enqueue(Ptr<Packet> packet) override {
        UpdateTag tag;
        if (!packet->PeekPacketTag(tag)) throw std::logic_error("the packet is not an update");
        std::uint32_t displaced;
        switch (rules_.Offer(tag.update, 0, &displaced)) {
            case olaf::Disposition::kAppended: return DoEnqueue(GetContainer().end(), packet);
            case olaf::Disposition::kMerged:
            case olaf::Disposition::kReplacedWorker:
            case olaf::Disposition::kReplacedReward: return true;
            default: DropBeforeEnqueue(packet); return false;
        }
    }

    Ptr<Packet> Dequeue() override {
        Ptr<Packet> packet = DoDequeue(GetContainer().begin());
        if (!packet) return packet;
        UpdateTag tag;
        packet->RemovePacketTag(tag);
        tag.update = rules_.Begin();
        rules_.Leave();
        packet->AddPacketTag(tag);
        return packet;
    }

    Ptr<Packet> Remove() override { throw std::logic_error("nothing is removed from an engine"); }
    Ptr<const Packet> Peek() const override { return DoPeek(GetContainer().begin()); }

  private:
    olaf::Queue rules_;
};

struct Cluster {
    olaf::Age age;
    std::uint64_t generated = 0, delivered = 0;
};

class Tree {
  public:
    explicit Tree(std::istream &from) {
        std::uint64_t engines = 0, settings = 0, sources = 0;
        Read(from, &engines, 1);
        Read(from, &settings, 1);
        Read(from, &sources, 1);
        Read(from, &world_, 1);
        engines_.resize(engines);
        settings_.resize(settings);
        sources_.resize(sources);
        turns_.resize(sources);
        Read(from, engines_.data(), engines);
        Read(from, settings_.data(), settings);
        Read(from, sources_.data(), sources);
        clusters_.resize(world_.indices);
        Build();
    }

    // Seconds of processor time.
    double Run() {
        ns3::Simulator::Stop(ns3::PicoSeconds(world_.end));
        const std::clock_t begin = std::clock();
        ns3::Simulator::Run();
        return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
    }

    void Report(std::ostream &to, double seconds) {
        to << "{\"seconds\": " << seconds << ", \"events\": " << ns3::Simulator::GetEventCount()
           << ", \"clusters\": [";
        for (std::size_t each = 0; each < clusters_.size(); ++each) {
            const olaf::Age age = clusters_[each].age.Until(world_.end);
            const double area = static_cast<double>(age.doubled_area) / 2;
            const double average = age.observed ? area / static_cast<double>(age.observed) / 1000 : 0;
            to << (each ? ", " : "") << "{\"generated\": " << clusters_[each].generated
               << ", \"delivered\": " << clusters_[each].delivered << ", \"average_age\": " << average << "}";
        }
        to << "]}\n";
    }

  private:
    template <typename Value> static void Read(std::istream &from, Value *into, std::size_t count) {
        from.read(reinterpret_cast<char *>(into), static_cast<std::streamsize>(count * sizeof(Value)));
        if (!from) throw std::runtime_error("the scenario ends too early");
    }

    void Build() {
        ns3::Time::SetResolution(ns3::Time::PS);
        ns3::NodeContainer engines, workers, server;
        engines.Create(static_cast<std::uint32_t>(engines_.size()));
        workers.Create(static_cast<std::uint32_t>(sources_.size()));
        server.Create(1);
        ns3::InternetStackHelper stack;
        stack.SetIpv6StackInstall(false);
        stack.InstallAll();
        for (std::uint32_t each = 0; each < engines_.size(); ++each) {
            const OlafEngine &engine = engines_[each];
            const std::int64_t next = engine.next;
            Ptr<ns3::Node> onward = next < 0 ? server.Get(0) : engines.Get(static_cast<std::uint32_t>(next));
            const double rate = 8e12 / engine.link_ps_per_byte;
            const auto devices = Connect(engines.Get(each), onward, rate, engine.link_delay);
            auto queue = ns3::CreateObject<OlafQueue>(engine.slots, world_.indices);
            for (const OlafSetting &one : settings_) {
                if (one.engine != each) continue;
                queue->Set(one.index, {static_cast<olaf_mode>(one.mode), one.reward_rule != 0, one.threshold,
                                       one.wanted});
            }
            ns3::DynamicCast<ns3::PointToPointNetDevice>(devices.Get(0))->SetQueue(queue);
        }
        for (std::uint32_t each = 0; each < sources_.size(); ++each) {
            Connect(workers.Get(each), engines.Get(sources_[each].engine), 1e12, sources_[each].delay);
        }
        ns3::Ipv4GlobalRoutingHelper::PopulateRoutingTables();
        Ptr<ns3::Socket> sink = ns3::Socket::CreateSocket(server.Get(0), ns3::UdpSocketFactory::GetTypeId());
        sink->Bind(ns3::InetSocketAddress(ns3::Ipv4Address::GetAny(), kPort));
        sink->SetRecvCallback([this](Ptr<ns3::Socket> socket) { Receive(socket); });
        sockets_.push_back(sink);
        const auto address = server.Get(0)->GetObject<ns3::Ipv4>()->GetAddress(1, 0).GetLocal();
        for (std::uint32_t each = 0; each < sources_.size(); ++each) {
            auto socket = ns3::Socket::CreateSocket(workers.Get(each), ns3::UdpSocketFactory::GetTypeId());
            socket->Connect(ns3::InetSocketAddress(address, kPort));
            sockets_.push_back(socket);
            Schedule(each);
        }
    }

    ns3::NetDeviceContainer Connect(Ptr<ns3::Node> from, Ptr<ns3::Node> to, double rate, std::int64_t delay) {
        ns3::PointToPointHelper link;
        link.DisableFlowControl();
        link.SetDeviceAttribute("DataRate",
                                ns3::DataRateValue(ns3::DataRate(static_cast<std::uint64_t>(rate))));
        link.SetChannelAttribute("Delay", ns3::TimeValue(ns3::PicoSeconds(delay)));
        ns3::NetDeviceContainer devices = link.Install(from, to);
        addresses_.Assign(devices);
        addresses_.NewNetwork();
        return devices;
    }

    void Schedule(std::uint32_t number) {
        const OlafSource &source = sources_[number];
        const std::int64_t turn = turns_[number]++;
        const std::int64_t due =
            source.phase + turn * source.period + olaf::Lateness(source, world_.seed, number, turn);
        const std::int64_t now = ns3::Simulator::Now().GetPicoSeconds();
        ns3::Simulator::ScheduleWithContext(sockets_[number + 1]->GetNode()->GetId(),
                                            ns3::PicoSeconds(std::max<std::int64_t>(due - now, 0)),
                                            [this, number] { Send(number); });
    }

    void Send(std::uint32_t number) {
        const OlafSource &source = sources_[number];
        const std::int64_t now = ns3::Simulator::Now().GetPicoSeconds();
        UpdateTag tag;
        tag.update = {static_cast<std::uint64_t>(now / olaf::kPsPerNs) & olaf::kGenTimeMask,
                      source.index,
                      source.worker,
                      static_cast<std::uint32_t>(turns_[number] - 1),
                      0,
                      source.size,
                      1,
                      0,
                      0,
                      0};
        Ptr<Packet> packet = ns3::Create<Packet>(source.size - kHeaders);
        packet->AddPacketTag(tag);
        ++clusters_[source.index].generated;
        sockets_[number + 1]->Send(packet);
        Schedule(number);
    }

    void Receive(Ptr<ns3::Socket> socket) {
        while (Ptr<Packet> packet = socket->Recv()) {
            UpdateTag tag;
            packet->RemovePacketTag(tag);
            const std::int64_t now = ns3::Simulator::Now().GetPicoSeconds();
            Cluster &cluster = clusters_[tag.update.index];
            cluster.delivered += tag.update.count;
            cluster.age.Receive(olaf::NearestTime(tag.update.gen_time, now), now, world_.start);
        }
    }

    OlafWorld world_{};
    std::vector<OlafEngine> engines_;
    std::vector<OlafSetting> settings_;
    std::vector<OlafSource> sources_;
    std::vector<std::int64_t> turns_;
    std::vector<Cluster> clusters_;
    std::vector<Ptr<ns3::Socket>> sockets_;  // the server's, then each source's
    ns3::Ipv4AddressHelper addresses_{"10.0.0.0", "255.255.255.252"};
};

}  // namespace

int main(int count, char **arguments) {
    if (count != 2) return 2;
    try {
        std::ifstream from(arguments[1], std::ios::binary);
        Tree tree(from);
        const double seconds = tree.Run();
        tree.Report(std::cout, seconds);
    } catch (const std::exception &error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
    return 0;
}
